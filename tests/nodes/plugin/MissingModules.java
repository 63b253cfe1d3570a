package detector.nodes;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.elasticsearch.cluster.metadata.DataStream;
import org.elasticsearch.features.FeatureSpecification;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.index.mapper.Mapper;
import org.elasticsearch.index.mapper.MapperParsingException;
import org.elasticsearch.index.mapper.TextFieldMapper;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.MapperPlugin;
import org.elasticsearch.plugins.Plugin;

/**
 * What the vendor's test distribution lacks to create API keys and failure stores, whose code it has: three parts of an analyser that the security index is
 * declared with (module analysis-common), a field type of the failure store (mapper-extras), and the statement that this node knows failure stores
 * (data-streams). Nothing of what is tested is in here.
 */
public final class MissingModules extends Plugin implements AnalysisPlugin, MapperPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of(
            "pattern_capture",
            (index, environment, name, settings) -> {
                List<String> patterns = settings.getAsList("patterns");
                Pattern[] compiled = patterns.stream().map(Pattern::compile).toArray(Pattern[]::new);
                boolean whole = settings.getAsBoolean("preserve_original", true);
                return filter(name, input -> new PatternCaptureGroupTokenFilter(input, whole, compiled));
            },
            "unique",
            (index, environment, name, settings) -> filter(name, RemoveDuplicatesTokenFilter::new)
        );
    }

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of("uax_url_email", (index, environment, name, settings) -> TokenizerFactory.newFactory(name, UAX29URLEmailTokenizer::new));
    }

    /** Failure stores declare their error.message so (module mapper-extras); analysed text does for that. No other field gets the type. */
    @Override
    public Map<String, Mapper.TypeParser> getMappers() {
        return Map.of("match_only_text", (name, node, context) -> {
            if (name.equals("message") == false) {
                throw new MapperParsingException("this node has no real match_only_text");
            }
            return TextFieldMapper.PARSER.parse(name, node, context);
        });
    }

    private interface Made {
        TokenStream of(TokenStream input);
    }

    private static TokenFilterFactory filter(String name, Made made) {
        return new TokenFilterFactory() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public TokenStream create(TokenStream input) {
                return made.of(input);
            }
        };
    }

    /** Found through META-INF/services. */
    public static final class Features implements FeatureSpecification {
        @Override
        public Set<NodeFeature> getFeatures() {
            return Set.of(DataStream.DATA_STREAM_FAILURE_STORE_FEATURE);
        }
    }
}
